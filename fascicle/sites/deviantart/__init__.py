"""DeviantArt: publishing, the answers of its API, and connecting accounts."""
