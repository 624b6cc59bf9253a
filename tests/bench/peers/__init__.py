"""Other libraries on the same corpus, weights and questions. Each script runs in an environment of its own."""
