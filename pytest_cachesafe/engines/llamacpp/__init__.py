"""llama.cpp's server: slots that keep their last prompt, and prompts kept in RAM beside them."""

from __future__ import annotations
