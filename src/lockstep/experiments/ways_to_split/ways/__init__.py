"""What one device does, as a process: the only files of the experiment that import PyTorch."""
