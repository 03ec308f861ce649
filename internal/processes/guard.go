package processes

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Guard knows the groups that this process has started, and ends them with all of their
// descendants. It has a process of its own that does so should this process be killed.
// Pdeathsig would signal a child, but not the processes that the child has started. The
// process of the guard reads from a pipe that only this process holds open, so that the
// end of its input is the end of this process. The nil Guard guards nothing.
type Guard struct {
	mark string // begins the marks of all groups

	// starting is held for reading while a child is started, and for writing while
	// processes are listed, so that a child is not taken for an orphan.
	starting sync.RWMutex
	mu       sync.Mutex // guards the rest
	count    int        // groups started
	leaders  map[int]*Group
	in       io.WriteCloser
	cmd      *exec.Cmd
}

// markVariable is the variable of the environment that names the group of a process.
const markVariable = "MCPCHECK_PROCESS"

// StartGuard starts the process of the guard. argv is a command that calls RunGuard with
// its standard input and the last of its arguments, which StartGuard appends.
func StartGuard(argv ...string) (*Guard, error) {
	g := &Guard{mark: markVariable + "=" + rand.Text() + "-", leaders: map[int]*Group{}}
	g.cmd = exec.Command(argv[0], append(slices.Clone(argv[1:]), g.mark)...)
	leadGroup(g.cmd)
	in, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of child processes: %w", err)
	}
	g.in = in
	return g, nil
}

// start starts a group. The mark is in the environment of the child from its first
// instruction on, so that the guard finds it even if this process is killed before it
// knows the number of the child. Until then the child holds the input of the guard open.
func (g *Guard) start(group *Group) error {
	g.starting.RLock()
	defer g.starting.RUnlock()
	g.mu.Lock()
	g.count++
	group.mark = g.mark + strconv.Itoa(g.count)
	g.mu.Unlock()
	if group.cmd.Env == nil {
		group.cmd.Env = os.Environ()
	}
	group.cmd.Env = append(group.cmd.Env, group.mark)
	if err := group.cmd.Start(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaders[group.cmd.Process.Pid] = group
	fmt.Fprintf(g.in, "watch %d\n", group.cmd.Process.Pid)
	return nil
}

// noteEnd notes that the child of a group was reaped.
func (g *Guard) noteEnd(group *Group) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if pid := group.cmd.Process.Pid; g.leaders[pid] == group {
		delete(g.leaders, pid)
	}
}

// kill ends a group and all of its descendants.
func (g *Guard) kill(group *Group) {
	// Descendants that changed their environment show only while the leader lives.
	descendants := g.escaped(group)
	killGroup(group.cmd.Process)
	for _, p := range descendants {
		killProcess(p)
	}
	killAll(func() []process { return g.escaped(group) })
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.in, "forget %d\n", group.cmd.Process.Pid)
}

// escaped returns the living descendants of a group: those below its leader, and orphans
// that bear its mark with what is below them.
func (g *Guard) escaped(group *Group) []process {
	g.starting.Lock()
	defer g.starting.Unlock()
	all := list()
	roots := g.roots(all)
	var out []process
	for _, p := range all {
		leads := roots.leaders[p.pid]
		switch {
		case leads == group:
			out = append(out, below(p.pid, all, always)...)
		case leads == nil && roots.isOrphan(p) && hasMark(p, group.mark, true):
			out = append(append(out, p), below(p.pid, all, always)...)
		}
	}
	return slices.DeleteFunc(out, func(p process) bool { return p.isZombie })
}

// roots are the processes from which descendants are looked for.
type roots struct {
	self    int
	guard   int            // the process of the guard
	leaders map[int]*Group // by the number of the process
	adopts  bool           // orphans become children of this process
}

// isOrphan reports whether a process that leads no group may be an orphan: a descendant
// whose parent has ended.
func (r roots) isOrphan(p process) bool {
	if p.pid == r.guard || p.pid == r.self {
		return false
	}
	return p.parent == r.self || !r.adopts
}

// roots returns the processes to look below, and reaps the orphans that have ended.
func (g *Guard) roots(all []process) roots {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := roots{self: os.Getpid(), guard: g.cmd.Process.Pid, leaders: map[int]*Group{}, adopts: adoptsOrphans()}
	for pid, group := range g.leaders {
		r.leaders[pid] = group
	}
	for _, p := range all {
		if r.adopts && p.parent == r.self && p.isZombie && r.leaders[p.pid] == nil && p.pid != r.guard {
			reap(p)
		}
	}
	return r
}

// Close ends all descendants of this process that can be found, and then the process of
// the guard.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	killAll(g.remaining)
	g.in.Close()
	g.cmd.Wait()
}

// remaining returns the living descendants of all groups. Where this process adopts
// orphans, every child but the guard is one.
func (g *Guard) remaining() []process {
	g.starting.Lock()
	defer g.starting.Unlock()
	all := list()
	r := g.roots(all)
	out := marked(all, g.mark, r.guard)
	if r.adopts {
		out = below(r.self, all, func(p process) bool { return p.pid != r.guard })
	}
	return slices.DeleteFunc(out, func(p process) bool { return p.isZombie })
}

// marked returns the living processes that bear a mark which begins as given, and what is
// below them; except one.
func marked(all []process, mark string, except int) []process {
	var out []process
	for _, p := range all {
		if p.pid != except && !p.isZombie && hasMark(p, mark, false) {
			out = append(append(out, p), below(p.pid, all, always)...)
		}
	}
	return out
}

// RunGuard waits until the input ends, and then ends the groups whose marks begin as
// given, and the process groups that the input names. It is the body of the hidden verb
// guard.
func RunGuard(in io.Reader, mark string) {
	watched := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, number, _ := strings.Cut(lines.Text(), " ")
		pgid, err := strconv.Atoi(number)
		if err != nil || pgid <= 1 || pgid == os.Getpid() {
			continue
		}
		if delete(watched, pgid); verb == "watch" {
			watched[pgid] = true
		}
	}
	// Descendants show below marked processes only while these live.
	self := os.Getpid()
	living := func() []process {
		found := marked(list(), mark, self)
		return slices.DeleteFunc(found, func(p process) bool { return p.isZombie })
	}
	found := living()
	for pgid := range watched {
		if process, err := os.FindProcess(pgid); err == nil {
			killGroup(process)
		}
	}
	for _, p := range found {
		killProcess(p)
	}
	killAll(living)
}
