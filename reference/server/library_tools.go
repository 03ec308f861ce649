package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// The annotations of tools (schema.ts#ToolAnnotations): of those that only read,
// and of those that change the state of the library.
var (
	readOnly     = Object{"readOnlyHint": true, "openWorldHint": false}
	changesState = Object{"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}
)

// bookSchema returns the schema of a book in structured results.
func bookSchema() Object {
	return objectSchema(Object{
		"id": Object{"type": "string"}, "title": Object{"type": "string"},
		"author": Object{"type": "string"}, "year": Object{"type": "integer"},
	}, "id", "title", "author", "year")
}

func bookIDSchema() Object {
	return Object{
		"type": "string", "pattern": "^b[0-9]{1,3}$",
		"description": "The id of a book, such as b7", "examples": []any{"b7"},
	}
}

func loanSchema() Object {
	return objectSchema(Object{
		"book": Object{"type": "string"}, "reader": Object{"type": "string"}, "out": Object{"type": "boolean"},
	}, "book", "reader", "out")
}

// libraryTools returns the tools of the library, in the order of tools/list.
func libraryTools() []*Tool {
	return slices.Concat(
		[]*Tool{
			openingHoursTool(), searchCatalogueTool(), newArrivalsTool(), showExhibitsTool(), stocktakeTool(),
			bindCatalogueTool(), checkShelfmarkTool(), scanCardTool(), readDeskLogTool(), borrowBookTool(),
			returnBookTool(), setReadingRoomTool(), resetStampTool(), checkBranchTool(), reserveSeatTool(),
		},
		libraryInputTools(), libraryURLTools(), librarySamplingTools(),
	)
}

func openingHoursTool() *Tool {
	return &Tool{
		Name: "opening_hours", Title: "Opening hours", Description: "Tells when the library is open.",
		InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "forbidden",
		Run: func(context.Context, *Call) Outcome { return textOutcome(strings.TrimSuffix(openingHours, "\n")) },
	}
}

func searchCatalogueTool() *Tool {
	return &Tool{
		Name: "search_catalogue", Title: "Search the catalogue",
		Description: "Finds books by words in their title, author or description.",
		InputSchema: closedSchema(Object{
			"query": Object{"type": "string", "minLength": 1, "maxLength": 200, "description": "What to look for"},
			"limit": integerSchema(1, 50, 10, "At most so many books"),
		}, "query"),
		OutputSchema: objectSchema(Object{
			"matches": Object{"type": "array", "items": bookSchema()}, "total": Object{"type": "integer", "minimum": 0},
		}, "matches", "total"),
		Annotations: readOnly,
		Run: func(_ context.Context, call *Call) Outcome {
			matches := bookObjects(containing(stringOf(call.Args["query"])))
			call.Log("info", "catalogue", Object{"event": "search", "found": len(matches)})
			limit := max(0, min(len(matches), intOr(call.Args["limit"], 10)))
			return structuredOutcome(Object{"matches": matches[:limit], "total": len(matches)})
		},
	}
}

func newArrivalsTool() *Tool {
	return &Tool{
		Name: "new_arrivals", Title: "New arrivals", Description: "Lists the books that came in last.",
		InputSchema: noArguments(), Annotations: readOnly,
		OutputSchema: Object{"type": "array", "items": bookSchema()}, WrapMember: "books",
		Run: func(context.Context, *Call) Outcome {
			arrivals := []any{}
			for _, b := range books()[9:] {
				arrivals = append(arrivals, b.object())
			}
			return structuredOutcome(arrivals)
		},
	}
}

// showExhibitsTool shows every type of content block.
func showExhibitsTool() *Tool {
	return &Tool{
		Name: "show_exhibits", Title: "Show the exhibits",
		Description: "Shows the glass case at the entrance: a notice, a cover, the desk bell and two books.",
		InputSchema: noArguments(), Annotations: readOnly,
		Run: func(context.Context, *Call) Outcome {
			const notice = "The case shows Mara Quist's first book.\n" +
				"Please do not lean on the glass. Grüße, 図書館 \u2603"
			first := books()[0]
			return Outcome{Content: []Object{
				textBlock(notice),
				imageBlock(coverPNG(1)),
				audioBlock(bellWAV()),
				linkBlock(first),
				embeddedBlock(textContents(first.uri(), markdown, first.markdown())),
				embeddedBlock(blobContents("library://covers/b1", "image/png", coverPNG(1))),
			}}
		},
	}
}

// stocktakeTool takes as long as requested, and reports its progress. It ends early
// when the call is cancelled.
func stocktakeTool() *Tool {
	return &Tool{
		Name: "stocktake", Title: "Take stock",
		Description: "Walks along the shelves and reports its progress. Takes as long as asked.",
		InputSchema: closedSchema(Object{
			"duration_ms": integerSchema(0, 5000, 100, "How long the walk takes, in milliseconds"),
			"steps":       integerSchema(1, 50, 5, "How many times to report"),
		}),
		Annotations: readOnly, TaskSupport: "optional",
		Run: func(ctx context.Context, call *Call) Outcome {
			duration := time.Duration(intOr(call.Args["duration_ms"], 100)) * time.Millisecond
			steps := intOr(call.Args["steps"], 5)
			call.Yield()
			for i := range steps {
				if !sleep(ctx, duration/time.Duration(steps)) {
					return errorOutcome("The stocktake was broken off.")
				}
				call.Progress(i+1, steps, fmt.Sprintf("Shelf %d of %d counted", i+1, steps))
			}
			return textOutcome(fmt.Sprintf("All %d books are accounted for.", len(books())))
		},
	}
}

// sleep waits and reports whether it did so to the end: false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// bindCatalogueTool can only be called as a task.
func bindCatalogueTool() *Tool {
	return &Tool{
		Name: "bind_catalogue", Title: "Bind the catalogue",
		Description: "Lays out the printed catalogue, which nobody should wait for at the desk.",
		InputSchema: noArguments(), Annotations: readOnly, In: taskRevisions, TaskSupport: "required",
		Run: func(ctx context.Context, call *Call) Outcome {
			call.Yield()
			if !sleep(ctx, 30*time.Millisecond) {
				return errorOutcome("The press was stopped.")
			}
			call.Log("info", "press", Object{"pages": len(books())})
			return textOutcome("The catalogue has one page for each of these: " + bookTitles() + ".")
		},
	}
}

// checkShelfmarkTool has an input schema that only JSON Schema 2020-12 expresses.
func checkShelfmarkTool() *Tool {
	return &Tool{
		Name: "check_shelfmark", Title: "Check a shelf mark",
		Description: "Tells whether a shelf mark is well formed: a wing, a number and, for the stacks, a floor.",
		InputSchema: Object{
			"type": "object",
			"properties": Object{
				"mark": Object{
					"type": "array", "items": false, "minItems": 2,
					"prefixItems": []any{
						Object{"enum": []any{"A", "B", "C"}},
						Object{"type": "integer", "minimum": 1, "maximum": 40},
					},
				},
				"stack": Object{"type": "boolean"},
				"floor": Object{"type": "integer", "minimum": 0, "maximum": 3},
			},
			"required":             []any{"mark"},
			"dependentRequired":    Object{"stack": []any{"floor"}},
			"additionalProperties": false,
		},
		Annotations: readOnly,
		Run: func(_ context.Context, call *Call) Outcome {
			mark := call.Args["mark"].([]any)
			return textOutcome(fmt.Sprintf("%v%v is a shelf mark.", mark[0], mark[1]))
		},
	}
}

// scanCardTool always fails, with a result that has isError.
func scanCardTool() *Tool {
	return &Tool{
		Name: "scan_card", Title: "Scan a card",
		Description: "Scans the card on the desk. The scanner has been out of order for years.",
		InputSchema: noArguments(), Annotations: readOnly, TaskSupport: "optional",
		Run: func(context.Context, *Call) Outcome {
			return errorOutcome("The scanner is out of order; type the name instead.")
		},
	}
}

// readDeskLogTool logs a message of each severity.
func readDeskLogTool() *Tool {
	return &Tool{
		Name: "read_desk_log", Title: "Read the desk log",
		Description: "Reads out the desk log, one message for each severity.",
		InputSchema: noArguments(), Annotations: readOnly,
		Run: func(_ context.Context, call *Call) Outcome {
			for i, level := range logLevels {
				call.Log(level, "desk", Object{"line": i + 1, "text": "an entry of severity " + level})
			}
			return textOutcome(fmt.Sprintf("The log has %d lines.", len(logLevels)))
		},
	}
}

func borrowBookTool() *Tool {
	return &Tool{
		Name: "borrow_book", Title: "Borrow a book", Description: "Lends a book to a reader.",
		InputSchema:  closedSchema(Object{"book": bookIDSchema(), "reader": stringSchema(1, 60)}, "book", "reader"),
		OutputSchema: loanSchema(), Annotations: changesState,
		Run: func(_ context.Context, call *Call) Outcome {
			b, ok := findBook(stringOf(call.Args["book"]))
			if !ok {
				return errorOutcome("There is no such book in the catalogue.")
			}
			reader := stringOf(call.Args["reader"])
			if holder, ok := call.Features.lend(b.id, reader); !ok {
				return errorOutcome(fmt.Sprintf("%s is out; %s has it.", b.title, holder))
			}
			call.conn.notifyUpdated(b.uri(), loansURI(reader))
			return structuredOutcome(Object{"book": b.id, "reader": reader, "out": true})
		},
	}
}

func returnBookTool() *Tool {
	return &Tool{
		Name: "return_book", Title: "Return a book", Description: "Takes a book back.",
		InputSchema:  closedSchema(Object{"book": bookIDSchema()}, "book"),
		OutputSchema: loanSchema(), Annotations: changesState,
		Run: func(_ context.Context, call *Call) Outcome {
			b, ok := findBook(stringOf(call.Args["book"]))
			if !ok {
				return errorOutcome("There is no such book in the catalogue.")
			}
			reader, ok := call.Features.endLoan(b.id)
			if !ok {
				return errorOutcome(b.title + " is on its shelf.")
			}
			call.conn.notifyUpdated(b.uri(), loansURI(reader))
			return structuredOutcome(Object{"book": b.id, "reader": reader, "out": false})
		},
	}
}

// setReadingRoomTool changes what the library offers. server/tools#capabilities of
// 2026-07-28 forbids lists that vary by connection or as a side effect of other
// requests. Here the change is the purpose of the call and applies to the library,
// and all subscribers are notified.
func setReadingRoomTool() *Tool {
	return &Tool{
		Name: "set_reading_room", Title: "Open or close the reading room",
		Description: "Opens or closes the reading room. " +
			"While it is open the desk offers a tool, a prompt and a resource more.",
		InputSchema: closedSchema(Object{"open": Object{"type": "boolean"}}, "open"),
		Annotations: changesState,
		Run: func(_ context.Context, call *Call) Outcome {
			open, _ := call.Args["open"].(bool)
			if call.Features.setReadingRoom(open) {
				for _, list := range []string{"tools", "prompts", "resources"} {
					call.conn.notifyListChanged(list)
				}
			}
			if open {
				return textOutcome("The reading room is open.")
			}
			return textOutcome("The reading room is closed.")
		},
	}
}

// resetStampTool panics, which the server answers with an internal error.
func resetStampTool() *Tool {
	return &Tool{
		Name: "reset_stamp", Title: "Reset the date stamp",
		Description: "Resets the date stamp, which jams: the server fails inside.",
		InputSchema: noArguments(), Annotations: changesState, TaskSupport: "optional",
		Run: func(context.Context, *Call) Outcome { panic(errDeliberatePanic) },
	}
}

// checkBranchTool has arguments that requests over HTTP repeat in headers: one of
// each type that may be repeated, and one inside another
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
func checkBranchTool() *Tool {
	return &Tool{
		Name: "check_branch", Title: "Check a branch",
		Description: "Tells whether another branch can send copies. " +
			"Branch, number and hurry stand in headers too over HTTP, so that the request finds its way.",
		InputSchema: closedSchema(Object{
			"branch": Object{"type": "string", "minLength": 1, "maxLength": 60, "x-mcp-header": "Branch"},
			"copies": Object{"type": "integer", "minimum": 1, "maximum": 99, "default": 1, "x-mcp-header": "Copies"},
			"urgent": Object{"type": "boolean", "default": false, "x-mcp-header": "Urgent"},
			"to":     closedSchema(Object{"desk": Object{"type": "string", "maxLength": 60, "x-mcp-header": "Desk"}}),
		}, "branch"),
		Annotations: readOnly, In: spec.Stateless,
		Run: func(_ context.Context, call *Call) Outcome {
			branch, copies := stringOf(call.Args["branch"]), intOr(call.Args["copies"], 1)
			return textOutcome(fmt.Sprintf("The branch %s can send %d.", branch, copies))
		},
	}
}

// reserveSeatTool is offered while the reading room is open.
func reserveSeatTool() *Tool {
	return &Tool{
		Name: "reserve_seat", Title: "Reserve a seat",
		Description: "Reserves a seat in the reading room, while it is open.",
		InputSchema: noArguments(), Annotations: changesState, Offered: (*Features).readingRoomIsOpen,
		Run: func(context.Context, *Call) Outcome {
			return textOutcome("Seat 4 by the window is yours until closing time.")
		},
	}
}
