// Command client is a client on the Go SDK: client COMMAND [ARGUMENT...]
// starts that server over stdio and looks around; client URL does so at a
// server over streamable HTTP, over HTTP+SSE where the path ends in /sse.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Print("usage: client COMMAND [ARGUMENT...] | URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, transport(os.Args[1], os.Args[2:])); err != nil {
		log.Fatal(err)
	}
}

func transport(command string, args []string) mcp.Transport {
	switch {
	case !strings.HasPrefix(command, "http://") && !strings.HasPrefix(command, "https://"):
		return &mcp.CommandTransport{Command: exec.Command(command, args...)}
	case strings.HasSuffix(command, "/sse"):
		return &mcp.SSEClientTransport{Endpoint: command}
	}
	return &mcp.StreamableClientTransport{Endpoint: command}
}

func run(ctx context.Context, server mcp.Transport) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go-sdk", Version: "v1.0.0"}, nil)
	session, err := client.Connect(ctx, server, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	opened := session.InitializeResult()
	fmt.Println("revision:", opened.ProtocolVersion)

	if opened.Capabilities.Tools != nil {
		tools, err := all("tools", session.Tools(ctx, nil))
		if err != nil {
			return err
		}
		if err := callReadOnly(ctx, session, tools); err != nil {
			return err
		}
	}
	if opened.Capabilities.Resources != nil {
		resources, err := all("resources", session.Resources(ctx, nil))
		if err != nil {
			return err
		}
		if _, err := all("resource templates", session.ResourceTemplates(ctx, nil)); err != nil {
			return err
		}
		if len(resources) > 0 {
			if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resources[0].URI}); err != nil {
				return fmt.Errorf("read %s: %w", resources[0].URI, err)
			}
		}
	}
	if opened.Capabilities.Prompts != nil {
		prompts, err := all("prompts", session.Prompts(ctx, nil))
		if err != nil {
			return err
		}
		if err := getFirst(ctx, session, prompts); err != nil {
			return err
		}
	}
	if opened.ProtocolVersion < "2026-07-28" {
		return session.Ping(ctx, nil)
	}
	return nil
}

// all collects every page of one list.
func all[T any](name string, items iter.Seq2[*T, error]) ([]*T, error) {
	var list []*T
	for item, err := range items {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", name, err)
		}
		list = append(list, item)
	}
	fmt.Printf("%s: %d\n", name, len(list))
	return list, nil
}

// callReadOnly calls the first read-only tool that needs no argument.
func callReadOnly(ctx context.Context, session *mcp.ClientSession, tools []*mcp.Tool) error {
	for _, tool := range tools {
		schema, _ := tool.InputSchema.(map[string]any)
		required, _ := schema["required"].([]any)
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint || len(required) > 0 {
			continue
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{}})
		if err != nil {
			return fmt.Errorf("call %s: %w", tool.Name, err)
		}
		fmt.Printf("%s: error %t\n", tool.Name, result.IsError)
		return nil
	}
	return nil
}

func getFirst(ctx context.Context, session *mcp.ClientSession, prompts []*mcp.Prompt) error {
	if len(prompts) == 0 {
		return nil
	}
	arguments := map[string]string{}
	for _, argument := range prompts[0].Arguments {
		if argument.Required {
			arguments[argument.Name] = "travel"
		}
	}
	if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompts[0].Name, Arguments: arguments}); err != nil {
		return fmt.Errorf("get prompt %s: %w", prompts[0].Name, err)
	}
	return nil
}
