package fault

// mrtr are the faults of basic/patterns/mrtr.
func mrtr() []Fault { return nil }
