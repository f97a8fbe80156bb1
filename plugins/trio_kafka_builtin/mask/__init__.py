"""Fields of JSON values that consumers must not see, rewritten in fetches."""
