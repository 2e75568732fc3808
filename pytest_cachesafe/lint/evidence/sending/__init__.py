"""Whether a text or a list is sent as it is built, not kept, shown or left behind."""
