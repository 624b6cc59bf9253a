"""Which slide was on the screen while a sentence was said."""
