"""Files on disk: arrays, atomic writes, locks."""
