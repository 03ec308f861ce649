//go:build unix

package processes

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup makes a command the leader of a process group.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGTERM) }
func killGroup(leader *os.Process)      { _ = syscall.Kill(-leader.Pid, syscall.SIGKILL) }
