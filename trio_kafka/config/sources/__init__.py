"""Where values of settings come from: TOML files, environment variables, providers."""
