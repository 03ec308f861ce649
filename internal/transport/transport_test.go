package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the peer processes: its first argument selects one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "peer-") {
		runPeer(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func runPeer(role string, args []string) {
	switch role {
	case "peer-echo":
		io.Copy(os.Stdout, os.Stdin)
	case "peer-long":
		w := bufio.NewWriter(os.Stdout)
		for range 40 << 10 {
			w.WriteString(strings.Repeat("x", 1024))
		}
		w.WriteString("\n{}\n")
		w.Flush()
	case "peer-parent": // its child ignores SIGTERM and holds the pipes open
		c := exec.Command(os.Args[0], "peer-unresponsive")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.Start()
		fmt.Println(c.Process.Pid)
		c.Wait()
	case "peer-unresponsive": // ignores SIGTERM and its input
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute) // a deadlock would end the process
	case "peer-stderr":
		fmt.Fprint(os.Stderr, strings.Repeat("a", 2*maxTail), "the end")
	}
}

func start(t *testing.T, role string) *Stream {
	t.Helper()
	s, err := Command{Argv: []string{os.Args[0], role}}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

func readLine(t *testing.T, s *Stream) Line {
	t.Helper()
	l, err := s.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestStreamsCarryBytesUnchanged(t *testing.T) {
	echo := InProcess{Name: "echo", Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	}}
	inProcess, err := echo.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inProcess.Kill)
	for name, s := range map[string]*Stream{"process": start(t, "peer-echo"), "in-process": inProcess} {
		for _, raw := range []string{`{"a":1}`, "\xff\r", "", strings.Repeat("y", 200_000)} {
			go s.WriteLine(t.Context(), []byte(raw))
			if l := readLine(t, s); string(l.Bytes) != raw || l.IsTruncated() || l.Unterminated {
				t.Errorf("%s: %.20q is read back as %.20q", name, raw, l.Bytes)
			}
		}
		s.CloseInput()
		if _, err := s.ReadLine(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after its input closed: %v, want EOF", name, err)
		}
		<-s.Done()
		if s.Status() != "exit status 0" {
			t.Errorf("%s ended with %q", name, s.Status())
		}
	}
}

func TestReadLineTruncatesLongLines(t *testing.T) {
	s := start(t, "peer-long")
	l := readLine(t, s)
	if !l.IsTruncated() || len(l.Bytes) != DefaultLineLimit || l.Length != 40<<20 {
		t.Errorf("kept %d of %d bytes", len(l.Bytes), l.Length)
	}
	if l := readLine(t, s); string(l.Bytes) != "{}" {
		t.Errorf("the line after it is %.20q", l.Bytes)
	}
}

func TestLineReaderReturnsUnterminatedLine(t *testing.T) {
	r := NewLineReader(strings.NewReader("a\nb"), 0)
	first, _ := r.Next()
	second, _ := r.Next()
	_, err := r.Next()
	if first.Unterminated || !second.Unterminated || string(second.Bytes) != "b" || !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %+v, %v", first, second, err)
	}
}

func TestWriteEndsWithTheContext(t *testing.T) {
	s := start(t, "peer-unresponsive")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := s.Write(ctx, make([]byte, 1<<20))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("write ended with %v", err)
	}
}

func TestKillEndsDescendants(t *testing.T) {
	s := start(t, "peer-parent")
	pid := childPID(t, readLine(t, s))
	s.Kill()
	awaitGone(t, pid)
}

func childPID(t *testing.T, l Line) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(string(l.Bytes)))
	if err != nil {
		t.Fatalf("the peer printed no pid: %v", err)
	}
	return pid
}

// awaitGone waits until a process has ended. A zombie whose parent was killed with
// it counts as ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

func TestStderrKeepsTheEnd(t *testing.T) {
	s := start(t, "peer-stderr")
	<-s.Done()
	deadline := time.Now().Add(10 * time.Second)
	for !strings.HasSuffix(s.Stderr(), "the end") && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := s.Stderr(); len(got) != maxTail || !strings.HasSuffix(got, "the end") {
		t.Errorf("kept %d bytes that end in %q", len(got), got[max(0, len(got)-10):])
	}
}

func TestStartNamesAMissingProgram(t *testing.T) {
	_, err := Command{Argv: []string{"no-such-program-here", "x"}}.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-program-here") {
		t.Errorf("error %v does not name the program", err)
	}
}

func TestQuotedArgumentsAreParsedByAShell(t *testing.T) {
	argv := []string{"printf", "%s|", "plain", "", "two words", "it's", "$HOME", "a\nb"}
	out, err := exec.Command("sh", "-c", ShellQuote(argv)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(argv[2:], "|") + "|"; string(out) != want {
		t.Errorf("shell read %q, want %q", out, want)
	}
}

func TestDrainReportsWhetherThePeerHasRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the number of unread bytes of a pipe is not known on this system")
	}
	unresponsive := start(t, "peer-unresponsive")
	if err := unresponsive.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if unresponsive.Drain(t.Context(), 20*time.Millisecond) {
		t.Error("Drain reports true for a peer that never reads")
	}
	reading := start(t, "peer-echo")
	if err := reading.Write(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if !reading.Drain(t.Context(), 10*time.Second) {
		t.Error("Drain reports false for a peer that reads")
	}
}

// The peer would read further bytes as the rest of the partial line.
func TestNothingIsWrittenAfterAPartialLine(t *testing.T) {
	s := start(t, "peer-unresponsive")
	if err := s.PartialWrite(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	first := s.Write(ctx, make([]byte, 1<<20))
	var partial *PartialWriteError
	if !errors.As(first, &partial) || !errors.Is(first, context.DeadlineExceeded) {
		t.Errorf("the write ended with %v", first)
	}
	if err := s.WriteLine(t.Context(), []byte("{}")); err != first || s.PartialWrite() != first {
		t.Errorf("the next write ended with %v", err)
	}
}
