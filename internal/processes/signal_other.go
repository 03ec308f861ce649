//go:build !unix

package processes

import (
	"os"
	"os/exec"
)

// There are no process groups here: a process alone is ended.

func leadGroup(*exec.Cmd)               {}
func terminateGroup(leader *os.Process) { _ = leader.Kill() }
func killGroup(leader *os.Process)      { _ = leader.Kill() }
