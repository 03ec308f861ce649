//go:build linux

package processes

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the tests. With a first argument that names a role, the test binary is
// that process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "role-") {
		runRole(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func runRole(role string, args []string) {
	switch role {
	case "role-sleeper":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		time.Sleep(time.Minute) // a deadlock would end the process
	case "role-leader": // starts an orphan in a session of its own, and sleeps
		fmt.Println(startOrphan(nil))
		time.Sleep(time.Minute)
	case "role-clean-leader": // the same, the orphan with an empty environment
		fmt.Println(startOrphan([]string{"X=1"}))
		time.Sleep(time.Minute)
	case "role-short-leader": // starts an orphan, and ends
		fmt.Println(startOrphan(nil))
	case "role-middle": // starts a process and ends before it does
		cmd := exec.Command(os.Args[0], "role-sleeper")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		must(cmd.Start())
		fmt.Println(cmd.Process.Pid)
	case "role-guarded":
		runGuarded(args)
	case "role-guard":
		RunGuard(os.Stdin, args[0])
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// startOrphan starts a process whose parent has ended, and returns its number.
func startOrphan(env []string) string {
	cmd := exec.Command(os.Args[0], "role-middle")
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	must(err)
	return strings.TrimSpace(string(out))
}

// runGuarded is the program that mcpcheck is: it starts a group for each role, prints the
// number of the orphan of each, and does what it reads, line by line.
func runGuarded(roles []string) {
	AdoptOrphans()
	guard, err := StartGuard(os.Args[0], "role-guard")
	must(err)
	var groups []*Group
	for _, role := range roles {
		cmd := exec.Command(os.Args[0], role)
		out, err := cmd.StdoutPipe()
		must(err)
		group, err := Start(cmd, guard)
		must(err)
		line, err := bufio.NewReader(out).ReadString('\n')
		must(err)
		fmt.Print(line)
		groups = append(groups, group)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		switch in.Text() {
		case "wait":
			_ = groups[0].Wait()
		case "kill":
			groups[0].Kill()
		case "close":
			guard.Close()
		}
	}
}

// A guarded is a running program of the role guarded.
type guarded struct {
	*exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// startGuarded starts groups of some roles, and returns the orphan of each.
func startGuarded(t *testing.T, roles ...string) (*guarded, []int) {
	t.Helper()
	g := &guarded{Cmd: exec.Command(os.Args[0], append([]string{"role-guarded"}, roles...)...)}
	g.Stderr = os.Stderr
	in, err := g.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	g.in, g.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = g.Process.Kill()
		_ = g.Wait()
	})
	var orphans []int
	for range roles {
		pid, err := strconv.Atoi(g.line(t))
		if err != nil {
			t.Fatal(err)
		}
		orphans = append(orphans, pid)
	}
	return g, orphans
}

func (g *guarded) line(t *testing.T) string {
	t.Helper()
	line, err := g.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// do has the program do something, and waits until it has.
func (g *guarded) do(t *testing.T, what string) {
	t.Helper()
	fmt.Fprintln(g.in, what)
	g.line(t)
}

func runs(pid int) bool {
	p, ok := find(pid)
	return ok && !p.isZombie
}

// awaitGone waits until a process has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); runs(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func TestKillEndsOrphansOfItsGroupOnly(t *testing.T) {
	g, orphans := startGuarded(t, "role-leader", "role-leader")
	g.do(t, "kill")
	if runs(orphans[0]) {
		t.Error("the orphan of the group still runs")
	}
	if !runs(orphans[1]) {
		t.Error("the orphan of another group was ended")
	}
}

func TestKillEndsOrphansOfAnEndedLeader(t *testing.T) {
	g, orphans := startGuarded(t, "role-short-leader")
	g.do(t, "wait")
	g.do(t, "kill")
	if runs(orphans[0]) {
		t.Error("the orphan still runs")
	}
}

func TestCloseEndsOrphansOfAllGroups(t *testing.T) {
	g, orphans := startGuarded(t, "role-leader", "role-clean-leader")
	g.do(t, "close")
	for _, pid := range orphans {
		if runs(pid) {
			t.Errorf("the orphan %d still runs", pid)
		}
	}
}

func TestGuardEndsOrphansOfAKilledProgram(t *testing.T) {
	g, orphans := startGuarded(t, "role-leader", "role-short-leader")
	if err := g.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range orphans {
		awaitGone(t, pid)
	}
}

func TestBelow(t *testing.T) {
	all := []process{
		{pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 4, parent: 3}, {pid: 5, parent: 2}, {pid: 6, parent: 1},
	}
	var got []int
	for _, p := range below(2, all, func(p process) bool { return p.pid != 5 }) {
		got = append(got, p.pid)
	}
	if fmt.Sprint(got) != "[3 4]" {
		t.Errorf("below 2 are %v", got)
	}
}

func TestKillOfAnotherProcessWithTheNumberDoesNothing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "role-sleeper")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	p, ok := find(cmd.Process.Pid)
	if !ok {
		t.Fatal("the process is not found")
	}
	before := p
	before.started--
	killProcess(before)
	if !runs(p.pid) {
		t.Error("a process that started later was ended")
	}
	killProcess(p)
	awaitGone(t, p.pid)
}
