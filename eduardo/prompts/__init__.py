"""Prompt files, one per prompt; `eduardo.templates.render` fills them in."""
