"""Training on many devices: forecasts from one device, held against what was measured."""
