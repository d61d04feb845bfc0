"""An embedding as other programs read it: viewers and spreadsheets."""
