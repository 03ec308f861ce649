//go:build !linux

package processes

// The processes of the system are not listed here.

func list() []process                    { return nil }
func hasMark(process, string, bool) bool { return false }
func killProcess(process)                {}
func reap(process)                       {}
func adoptsOrphans() bool                { return false }

// AdoptOrphans does nothing on this system.
func AdoptOrphans() {}
