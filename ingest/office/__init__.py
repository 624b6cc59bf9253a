"""PowerPoint and Word to segments with pages."""
