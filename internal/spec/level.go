package spec

// A Level is how strongly a check binds: a broken Must fails, a broken Should
// or Robust warns (RFC 2119; a MUST NOT is a Must, a SHOULD NOT a Should).
type Level string

// The levels of checks. Robust is for what no clause states but every user
// needs: after a stimulus that a peer may reject, it still answers.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	Robust Level = "ROBUST"
)

// LevelOf maps the level of a ledger row (MUST, MUST NOT, SHOULD, SHOULD NOT,
// ROBUST) to the level of a check that claims it; ok is false for MAY.
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
