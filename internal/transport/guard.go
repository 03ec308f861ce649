package transport

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// A Guard is a process of mcpcheck that kills the process groups of the children
// should mcpcheck be killed. Pdeathsig would signal a child, but not the processes
// that the child has started. The guard reads from a pipe that only mcpcheck holds
// open, so that the end of its input is the end of mcpcheck. The nil Guard guards
// nothing.
type Guard struct {
	mu  sync.Mutex
	in  io.WriteCloser
	cmd *exec.Cmd
}

// StartGuard starts the guard. argv is a command that calls RunGuard on its
// standard input.
func StartGuard(argv ...string) (*Guard, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of child processes: %w", err)
	}
	return &Guard{in: in, cmd: cmd}, nil
}

// Close ends the guard, which kills the process groups that it still watches.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	g.in.Close()
	g.cmd.Wait()
}

func (g *Guard) watch(pgid int)  { g.send("watch", pgid) }
func (g *Guard) forget(pgid int) { g.send("forget", pgid) }

func (g *Guard) send(verb string, pgid int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.in, "%s %d\n", verb, pgid)
}

// RunGuard reads the process groups to watch until the input ends, and then kills
// the groups that it still watches. It is the body of the hidden verb guard.
func RunGuard(in io.Reader) {
	watched := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, number, _ := strings.Cut(lines.Text(), " ")
		pgid, err := strconv.Atoi(number)
		if err != nil || pgid <= 1 || pgid == os.Getpid() {
			continue
		}
		watched[pgid] = verb == "watch"
	}
	for pgid, alive := range watched {
		if alive {
			syscall.Kill(-pgid, syscall.SIGKILL)
		}
	}
}
