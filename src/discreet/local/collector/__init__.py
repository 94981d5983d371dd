"""The collector's side: from reports to estimates. Post-processing: it draws nothing and sees no true answer."""
