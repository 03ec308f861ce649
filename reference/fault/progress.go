package fault

// progress are the faults of basic/utilities/progress.
func progress() []Fault { return nil }
