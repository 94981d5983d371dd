"""What the queries of several families share."""
