"""`trio-kafka token`: delegation tokens. `tokens` finds them and says what they are."""
