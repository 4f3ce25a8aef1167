"""What TensorFlow and Keras read when they are imported."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # 2: errors only
os.environ["KERAS_BACKEND"] = "tensorflow"  # even if a person uses Keras with another one
