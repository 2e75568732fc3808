def too_deep(text: str) -> tuple[int,int] | None:
    return None
