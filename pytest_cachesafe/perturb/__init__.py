"""What changes when the world changes: settings to build a prompt under, who read them, and the re-run of a test.

Nothing is imported here: `node` is loaded by the pytest plugin in every run, the rest only where it is used.
"""
