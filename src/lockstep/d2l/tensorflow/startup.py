"""What must be set before TensorFlow and its Keras are imported."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from importlib.util import find_spec

from lockstep.errors import MissingError


def prefer_keras_2() -> None:
    """The chapters are written for Keras 2, which the package tf_keras still is. Of TensorFlow's
    C++ log only errors are shown: its notices about the machine are no part of a chapter's output.
    """
    if find_spec("tensorflow") and not find_spec("tf_keras"):
        (distribution, *_) = metadata.packages_distributions()["tensorflow"]
        version = metadata.version(distribution).rpartition(".")[0]
        # tf_keras asks for the package tensorflow, also where tensorflow-cpu is
        install = f'{sys.executable} -m pip install --no-deps "tf_keras=={version}.*"'
        raise MissingError(
            "tf_keras, the Keras 2 that the chapters are written for, is not installed",
            f"Install it with: {install}",
        )
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
