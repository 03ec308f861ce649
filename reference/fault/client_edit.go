package fault

import (
	"bytes"
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// clientSends lets a fault write lines of its own in the place of a message.
func clientSends(lines func(m client.Message) [][]byte) func(o *client.Options) {
	return func(o *client.Options) {
		o.Send = func(next client.Sender) client.Sender {
			return func(m client.Message) error {
				for _, line := range lines(m) {
					m.Raw = line
					if err := next(m); err != nil {
						return err
					}
				}
				return nil
			}
		}
	}
}

// clientSendsBefore writes a line before each message of a method.
func clientSendsBefore(method, line string) func(o *client.Options) {
	return clientSends(func(m client.Message) [][]byte {
		if m.Method != method {
			return [][]byte{m.Raw}
		}
		return [][]byte{[]byte(line), m.Raw}
	})
}

// clientRewrites replaces bytes in the messages of a method, "" for all. A message
// without them is left alone.
func clientRewrites(method, old, new string) func(o *client.Options) {
	return clientSends(func(m client.Message) [][]byte {
		if method != "" && m.Method != method {
			return [][]byte{m.Raw}
		}
		return [][]byte{bytes.Replace(m.Raw, []byte(old), []byte(new), 1)}
	})
}

// clientAnswersBy lets a fault answer the server's requests of a method, "" for all,
// in another way: it is given the honest answer.
func clientAnswersBy(method string, answer func(request wire.Message, honest []byte) []byte) func(o *client.Options) {
	return func(o *client.Options) {
		o.Answer = func(next client.Answerer) client.Answerer {
			return func(m wire.Message) []byte {
				honest := next(m)
				if method != "" && m.Method() != method || honest == nil {
					return honest
				}
				return answer(m, honest)
			}
		}
	}
}

// members answers with members of a response under the id of the request.
func members(members string) func(request wire.Message, honest []byte) []byte {
	return func(m wire.Message, _ []byte) []byte {
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID().Raw, members)
	}
}

// clientSpeaking restricts what the client speaks, for a deviation that other
// revisions would take for another one, or for none.
func clientSpeaking(revisions spec.Set, apply func(o *client.Options)) func(o *client.Options) {
	return func(o *client.Options) {
		o.Revisions = revisions.Revisions()
		apply(o)
	}
}
