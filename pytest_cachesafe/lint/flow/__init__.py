"""Flow analysis: which volatile values reach which cached prefix."""
