package suites

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/mcpcheck/mcpcheck/internal/script"
	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// bridgeArgument is the first argument of this program when a client under test
// starts it as its server.
const bridgeArgument = "mcpcheck-bridge"

// bridgeReady records that BridgeMain was called.
var bridgeReady bool

// BridgeMain lets TestClient and RunClient judge clients that start their server by a
// command: that command is this program again. A test binary calls it first in
// TestMain, a program first in main. If a client started the program, it connects the
// client to its scripted server and exits; otherwise it returns at once.
func BridgeMain() {
	bridgeReady = true
	if len(os.Args) != 3 || os.Args[1] != bridgeArgument {
		return
	}
	if _, err := script.RunBridge(os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// connect runs a client of this process against a scripted server.
func connect(ctx context.Context, server transport.Starter,
	client func(context.Context, io.ReadCloser, io.WriteCloser) error) error {
	stream, err := server.Start(ctx)
	if err != nil {
		return err
	}
	defer stream.Kill()
	in, fromServer := io.Pipe()
	go func() {
		for {
			line, err := stream.ReadLine()
			if err != nil {
				fromServer.Close()
				return
			}
			if _, err := fromServer.Write(append(line.Bytes, '\n')); err != nil {
				return
			}
		}
	}()
	return client(ctx, in, &streamWriter{ctx, stream})
}

// streamWriter writes to the input of a peer.
type streamWriter struct {
	ctx    context.Context
	stream *transport.Stream
}

func (w *streamWriter) Write(b []byte) (int, error) {
	if err := w.stream.Write(w.ctx, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w *streamWriter) Close() error {
	w.stream.CloseInput()
	return nil
}
