"""Whether a report is worth making: is the text sent, is the code called, does anything stand behind the value."""
