"""Small tools for plain text."""
