package check

// Each judges elements of a transcript one by one. judge calls J.Fail for an element
// that breaks the rule, and reports whether the element was a subject of the rule:
// only then it counts as evidence.
func Each[E any](j *J, all []E, judge func(e E) bool) {
	for _, e := range all {
		if judge(e) {
			j.Saw()
		}
	}
}
