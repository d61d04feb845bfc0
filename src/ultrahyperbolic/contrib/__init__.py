"""Bridges to other people's libraries; each is imported on its own and needs that library."""
