"""Files on disk: arrays, atomic writes, locks. Also the start of child processes."""
