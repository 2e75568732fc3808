"""What stands behind a volatile value, and whether another request has it in common."""
