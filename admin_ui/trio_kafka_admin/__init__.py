"""The admin UI: pages that show what a broker does now, each with its JSON twin. It only looks."""
