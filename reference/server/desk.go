package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The hints of tools (schema.ts#ToolAnnotations): those that only look, and
// those that change the state of the desk.
var (
	readOnlyTool      = Object{"readOnlyHint": true, "openWorldHint": false}
	stateChangingTool = Object{"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}
)

// nothing is the schema of a tool without arguments, as recommended in
// server/tools#tool.
func noArguments() Object { return Object{"type": "object", "additionalProperties": false} }

// record is the schema of a book in structured results.
func bookSchema() Object {
	return Object{
		"type": "object",
		"properties": Object{
			"id": Object{"type": "string"}, "title": Object{"type": "string"},
			"author": Object{"type": "string"}, "year": Object{"type": "integer"},
		},
		"required": []any{"id", "title", "author", "year"},
	}
}

func bookIDSchema() Object {
	return Object{"type": "string", "pattern": "^b[0-9]{1,3}$", "description": "The id of a book, such as b7", "examples": []any{"b7"}}
}

// tools returns the tools of the desk, in the order in which they are listed.
func libraryTools() []*Tool {
	list := []*Tool{
		{
			Name: "opening_hours", Title: "Opening hours", Description: "Tells when the library is open.",
			Input: noArguments(), Hints: readOnlyTool, TaskSupport: "forbidden",
			Run: func(context.Context, *Call) Outcome {
				return textOutcome("Monday to Friday from 9 to 18, Saturday from 10 to 13.\nThe reading room opens on request.")
			},
		},
		{
			Name: "search_catalogue", Title: "Search the catalogue",
			Description: "Finds books by words in their title, author or description.",
			Input: Object{
				"type": "object",
				"properties": Object{
					"query": Object{"type": "string", "minLength": 1, "maxLength": 200, "description": "What to look for"},
					"limit": Object{"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "At most so many books"},
				},
				"required": []any{"query"}, "additionalProperties": false,
			},
			Output: Object{
				"type":       "object",
				"properties": Object{"matches": Object{"type": "array", "items": bookSchema()}, "total": Object{"type": "integer", "minimum": 0}},
				"required":   []any{"matches", "total"},
			},
			Hints: readOnlyTool, Run: searchCatalogue,
		},
		{
			Name: "new_arrivals", Title: "New arrivals", Description: "Lists the books that came in last.",
			Input: noArguments(), Output: Object{"type": "array", "items": bookSchema()}, WrapMember: "books", Hints: readOnlyTool,
			Run: func(context.Context, *Call) Outcome {
				arrivals := []any{}
				for _, b := range books()[9:] {
					arrivals = append(arrivals, b.object())
				}
				return structuredOutcome(arrivals)
			},
		},
		{
			Name: "show_exhibits", Title: "Show the exhibits",
			Description: "Shows the glass case at the entrance: a notice, a cover, the desk bell and two books.",
			Input:       noArguments(), Hints: readOnlyTool, Run: showExhibits,
		},
		{
			Name: "stocktake", Title: "Take stock",
			Description: "Walks along the shelves and reports its progress. Takes as long as asked.",
			Input: Object{
				"type": "object",
				"properties": Object{
					"duration_ms": Object{"type": "integer", "minimum": 0, "maximum": 5000, "default": 100, "description": "How long the walk takes, in milliseconds"},
					"steps":       Object{"type": "integer", "minimum": 1, "maximum": 50, "default": 5, "description": "How many times to report"},
				},
				"additionalProperties": false,
			},
			Hints: readOnlyTool, TaskSupport: "optional", Run: stocktake,
		},
		{
			Name: "bind_catalogue", Title: "Bind the catalogue",
			Description: "Lays out the printed catalogue, which nobody should wait for at the desk.",
			Input:       noArguments(), Hints: readOnlyTool, In: taskRevisions, TaskSupport: "required", Run: bindCatalogue,
		},
		{
			Name: "check_shelfmark", Title: "Check a shelf mark",
			Description: "Tells whether a shelf mark is well formed: a wing, a number and, for the stacks, a floor.",
			Input: Object{
				"type": "object",
				"properties": Object{
					"mark":  Object{"type": "array", "prefixItems": []any{Object{"enum": []any{"A", "B", "C"}}, Object{"type": "integer", "minimum": 1, "maximum": 40}}, "items": false, "minItems": 2},
					"stack": Object{"type": "boolean"},
					"floor": Object{"type": "integer", "minimum": 0, "maximum": 3},
				},
				"required": []any{"mark"}, "dependentRequired": Object{"stack": []any{"floor"}}, "additionalProperties": false,
			},
			Hints: readOnlyTool,
			Run: func(_ context.Context, call *Call) Outcome {
				mark := call.Args["mark"].([]any)
				return textOutcome(fmt.Sprintf("%v%v is a shelf mark.", mark[0], mark[1]))
			},
		},
		{
			Name: "scan_card", Title: "Scan a card",
			Description: "Scans the card on the desk. The scanner has been out of order for years.",
			Input:       noArguments(), Hints: readOnlyTool, TaskSupport: "optional",
			Run: func(context.Context, *Call) Outcome {
				return errorOutcome("The scanner is out of order; type the name instead.")
			},
		},
		{
			Name: "read_desk_log", Title: "Read the desk log",
			Description: "Reads out the desk log, one message for each severity.",
			Input:       noArguments(), Hints: readOnlyTool, Run: readDeskLog,
		},
		{
			Name: "borrow_book", Title: "Borrow a book", Description: "Lends a book to a reader.",
			Input: Object{
				"type":       "object",
				"properties": Object{"book": bookIDSchema(), "reader": Object{"type": "string", "minLength": 1, "maxLength": 60}},
				"required":   []any{"book", "reader"}, "additionalProperties": false,
			},
			Output: loanSchema(), Hints: stateChangingTool, Run: borrowBook,
		},
		{
			Name: "return_book", Title: "Return a book", Description: "Takes a book back.",
			Input: Object{
				"type": "object", "properties": Object{"book": bookIDSchema()},
				"required": []any{"book"}, "additionalProperties": false,
			},
			Output: loanSchema(), Hints: stateChangingTool, Run: returnBook,
		},
		{
			Name: "set_reading_room", Title: "Open or close the reading room",
			Description: "Opens or closes the reading room. While it is open the desk offers a tool, a prompt and a resource more.",
			Input: Object{
				"type": "object", "properties": Object{"open": Object{"type": "boolean"}},
				"required": []any{"open"}, "additionalProperties": false,
			},
			Hints: stateChangingTool, Run: setReadingRoom,
		},
		{
			Name: "reset_stamp", Title: "Reset the date stamp",
			Description: "Resets the date stamp, which jams: the server fails inside.",
			Input:       noArguments(), Hints: stateChangingTool, TaskSupport: "optional",
			Run: func(context.Context, *Call) Outcome { panic(errDeliberatePanic) },
		},
		branchTool(),
		{
			Name: "reserve_seat", Title: "Reserve a seat", Description: "Reserves a seat in the reading room, while it is open.",
			Input: noArguments(), Hints: stateChangingTool, Room: true,
			Run: func(context.Context, *Call) Outcome {
				return textOutcome("Seat 4 by the window is yours until closing time.")
			},
		},
	}
	return slices.Concat(list, libraryInputTools(), libraryURLTools(), librarySamplingTools())
}

// branchTool is the tool whose arguments go-betweens can read over HTTP: one of
// each type that may be mirrored, and one inside another
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
func branchTool() *Tool {
	return &Tool{
		Name: "check_branch", Title: "Check a branch",
		Description: "Tells whether another branch can send copies. Branch, number and hurry stand in headers too over HTTP, so that the request finds its way.",
		Input: Object{
			"type": "object",
			"properties": Object{
				"branch": Object{"type": "string", "minLength": 1, "maxLength": 60, "x-mcp-header": "Branch"},
				"copies": Object{"type": "integer", "minimum": 1, "maximum": 99, "default": 1, "x-mcp-header": "Copies"},
				"urgent": Object{"type": "boolean", "default": false, "x-mcp-header": "Urgent"},
				"to": Object{"type": "object", "properties": Object{
					"desk": Object{"type": "string", "maxLength": 60, "x-mcp-header": "Desk"},
				}, "additionalProperties": false},
			},
			"required": []any{"branch"}, "additionalProperties": false,
		},
		Hints: readOnlyTool, In: spec.Stateless,
		Run: func(_ context.Context, call *Call) Outcome {
			return textOutcome(fmt.Sprintf("The branch %s can send %d.", stringOf(call.Args["branch"]), intOr(call.Args["copies"], 1)))
		},
	}
}

func searchCatalogue(_ context.Context, call *Call) Outcome {
	query := strings.ToLower(stringOf(call.Args["query"]))
	limit := intOr(call.Args["limit"], 10)
	matches, total := []any{}, 0
	for _, b := range books() {
		if !strings.Contains(strings.ToLower(b.markdown()), query) {
			continue
		}
		if total++; total <= limit {
			matches = append(matches, b.object())
		}
	}
	call.Log("info", "catalogue", Object{"event": "search", "found": total})
	return structuredOutcome(Object{"matches": matches, "total": total})
}

func showExhibits(context.Context, *Call) Outcome {
	all := books()
	return Outcome{Content: []Object{
		textBlock("The case shows Mara Quist's first book.\nPlease do not lean on the glass. Grüße, 図書館 \u2603"),
		imageBlock(coverPNG(1)),
		audioBlock(bellWAV()),
		linkBlock(all[0]),
		embeddedBlock(textContents(all[0].uri(), "text/markdown", all[0].markdown())),
		embeddedBlock(blobContents("library://covers/b1", "image/png", coverPNG(1))),
	}}
}

// stocktake waits in even steps and reports each of them. It ends early when
// the call is cancelled.
func stocktake(ctx context.Context, call *Call) Outcome {
	duration := time.Duration(intOr(call.Args["duration_ms"], 100)) * time.Millisecond
	steps := intOr(call.Args["steps"], 5)
	call.Park()
	for i := range steps {
		tick := time.NewTimer(duration / time.Duration(steps))
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return errorOutcome("The stocktake was broken off.")
		}
		call.Progress(i+1, steps, fmt.Sprintf("Shelf %d of %d counted", i+1, steps))
	}
	return textOutcome(fmt.Sprintf("All %d books are accounted for.", len(books())))
}

// bindCatalogue takes a moment, and ends early when the call is cancelled.
func bindCatalogue(ctx context.Context, call *Call) Outcome {
	call.Park()
	press := time.NewTimer(30 * time.Millisecond)
	defer press.Stop()
	select {
	case <-press.C:
	case <-ctx.Done():
		return errorOutcome("The press was stopped.")
	}
	call.Log("info", "press", Object{"pages": len(books())})
	return textOutcome("The catalogue has one page for each of these: " + bookTitles() + ".")
}

func readDeskLog(_ context.Context, call *Call) Outcome {
	for i, level := range logLevels {
		call.Log(level, "desk", Object{"line": i + 1, "text": "an entry of severity " + level})
	}
	return textOutcome(fmt.Sprintf("The log has %d lines.", len(logLevels)))
}

func loanSchema() Object {
	return Object{
		"type":       "object",
		"properties": Object{"book": Object{"type": "string"}, "reader": Object{"type": "string"}, "out": Object{"type": "boolean"}},
		"required":   []any{"book", "reader", "out"},
	}
}

func borrowBook(_ context.Context, call *Call) Outcome {
	b, ok := findBook(stringOf(call.Args["book"]))
	if !ok {
		return errorOutcome("There is no such book in the catalogue.")
	}
	reader := stringOf(call.Args["reader"])
	if holder, ok := call.Library.lend(b.id, reader); !ok {
		return errorOutcome(fmt.Sprintf("%s is out; %s has it.", b.title, holder))
	}
	call.conn.notifyUpdated(b.uri(), loansURI(reader))
	return structuredOutcome(Object{"book": b.id, "reader": reader, "out": true})
}

func returnBook(_ context.Context, call *Call) Outcome {
	b, ok := findBook(stringOf(call.Args["book"]))
	if !ok {
		return errorOutcome("There is no such book in the catalogue.")
	}
	reader, ok := call.Library.endLoan(b.id)
	if !ok {
		return errorOutcome(b.title + " is on its shelf.")
	}
	call.conn.notifyUpdated(b.uri(), loansURI(reader))
	return structuredOutcome(Object{"book": b.id, "reader": reader, "out": false})
}

// setReadingRoom changes what is offered. server/tools#capabilities of
// 2026-07-28 forbids lists that vary by connection or as a side effect of
// other requests; here the change is what the call asks for, it is the
// library that changes, and everybody who listens is told.
func setReadingRoom(_ context.Context, call *Call) Outcome {
	open, _ := call.Args["open"].(bool)
	if call.Library.setReadingRoom(open) {
		for _, list := range []string{"tools", "prompts", "resources"} {
			call.conn.notifyListChanged(list)
		}
	}
	if open {
		return textOutcome("The reading room is open.")
	}
	return textOutcome("The reading room is closed.")
}
