package fault

// tasks are the faults of basic/utilities/tasks.
func tasks() []Fault { return nil }
