"""Plugins that come with the broker and are off until a setting turns them on."""
