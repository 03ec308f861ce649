package spec

// A Level is how strongly a rule binds: a broken Must is a fail, a broken Should or
// Robust is a warn (RFC 2119; a MUST NOT is a Must, a SHOULD NOT is a Should).
type Level string

// The levels of checks. Robust is for behavior that no clause states but every
// user needs, such as answering further requests after an invalid one.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	Robust Level = "ROBUST"
)

// LevelOf returns the level of a check that claims a ledger row of the given level
// (MUST, MUST NOT, SHOULD, SHOULD NOT, ROBUST). ok is false for MAY.
func LevelOf(row string) (l Level, ok bool) {
	switch row {
	case "MUST", "MUST NOT":
		return Must, true
	case "SHOULD", "SHOULD NOT":
		return Should, true
	case "ROBUST":
		return Robust, true
	}
	return "", false
}
