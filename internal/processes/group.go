// Package processes starts child processes and ends them with all processes that they
// have started.
//
// A Group is a child process and its descendants. The child leads a process group of its
// own, so that one signal reaches all members. A descendant can leave the process group,
// and can detach itself from its parent. With a Guard, such descendants are found too: by
// the tree of processes, and by a variable in their environment that names the group.
// Both need /proc; on other systems than Linux the process group is all that is ended.
package processes

import (
	"os"
	"os/exec"
	"time"
)

// A Group is a child process and its descendants.
type Group struct {
	cmd   *exec.Cmd
	guard *Guard // nil for none
	mark  string // in the environment of all members; "" without a guard
}

// Start starts a command as the leader of a process group. With a guard, the guard ends
// the group should this process be killed; the guard may be nil.
func Start(cmd *exec.Cmd, guard *Guard) (*Group, error) {
	leadGroup(cmd)
	g := &Group{cmd: cmd, guard: guard}
	if guard == nil {
		return g, cmd.Start()
	}
	return g, guard.start(g)
}

// Wait waits for the end of the child, as exec.Cmd does. It is called once.
func (g *Group) Wait() error {
	err := g.cmd.Wait()
	g.guard.noteEnd(g)
	return err
}

// State returns how the child ended. It is valid after Wait.
func (g *Group) State() *os.ProcessState { return g.cmd.ProcessState }

// Terminate sends SIGTERM to the process group.
func (g *Group) Terminate() { terminateGroup(g.cmd.Process) }

// Kill ends the child and all of its descendants that can be found. It may be called at
// any time, also after the end of the child: a process group exists while any member of
// it lives, and the kernel does not reuse the number of an existing group.
func (g *Group) Kill() {
	if g.guard == nil {
		killGroup(g.cmd.Process)
		return
	}
	g.guard.kill(g)
}

// A process is one process of the system at the time when it was listed.
type process struct {
	pid, parent int
	isZombie    bool
	started     uint64 // in units of the kernel: tells processes apart that have one number
}

// below returns the processes that descend from a process, without those that enter
// returns false for and their descendants.
func below(root int, all []process, enter func(process) bool) []process {
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []process
	for next := children[root]; len(next) > 0; next = next[1:] {
		if p := next[0]; enter(p) {
			out = append(out, p)
			next = append(next, children[p.pid]...)
		}
	}
	return out
}

func always(process) bool { return true }

// The rounds of killAll. A process that is killed may take a moment to end, and may have
// started another one before.
const (
	maxRounds = 100
	maxPause  = 50 * time.Millisecond
)

// killAll kills the processes that find returns until it returns none.
func killAll(find func() []process) {
	pause := time.Millisecond
	for range maxRounds {
		found := find()
		if len(found) == 0 {
			return
		}
		for _, p := range found {
			killProcess(p)
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
}
