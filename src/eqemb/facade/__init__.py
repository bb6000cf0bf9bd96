"""The public `Library`, and operations on whole libraries: build, update, rebuild, export, map."""
