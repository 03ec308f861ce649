package fault

// official are the faults of the public conformance contract.
func official() []Fault { return nil }
