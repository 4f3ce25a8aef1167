"""What must be set before TensorFlow is imported: the chapters are written for Keras 2, which the
package tf_keras still is; and its notices about the machine are no part of a chapter's output.
Of its C++ log only errors are shown.
"""

from __future__ import annotations

import importlib.util
import os

from lockstep.errors import MissingError

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if importlib.util.find_spec("tf_keras") is None:
    raise MissingError(
        "tf_keras, the Keras 2 that the chapters are written for, is not installed",
        "Install the version of your TensorFlow: pip install tf_keras==2.21.0",
    )
