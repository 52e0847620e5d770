package call

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// How an answer of many rows is sent.
const (
	rowsBuffer  = 64 << 10  // bytes of rows that are collected before they are sent
	slowestRate = 256 << 10 // bytes per second: a caller that reads slower for longer than WriteTimeout is disconnected
)

// AnswerRows sends a document {"v":1,"NAME":[row,...]}. It encodes one row at a
// time, so that the memory that an answer takes does not grow with its length.
// An error among the first rows becomes the answer. If rows have been sent
// already, an error ends the connection: the caller finds the document
// incomplete.
func AnswerRows[T any](ctx context.Context, c *Call, name string, rows iter.Seq2[T, error]) error {
	w := &rowWriter{c: c, begun: time.Now()}
	err := writeRows(ctx, c, bufio.NewWriterSize(w, rowsBuffer), name, rows)
	if err != nil && w.sent > 0 {
		panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
	}
	return err
}

func writeRows[T any](ctx context.Context, c *Call, w *bufio.Writer, name string, rows iter.Seq2[T, error]) error {
	fmt.Fprintf(w, `{"v":%d,%q:[`, api.Version, name)
	separator := ""
	for row, err := range rows {
		if err != nil {
			return err
		}
		text, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("encode answer: %w", err)
		}
		w.WriteString(separator)
		separator = ","
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := c.slot.compute(ctx); err != nil { // Write may have given it back
			return err
		}
	}
	w.WriteString("]}\n")
	return w.Flush()
}

// rowWriter sends parts of an answer. While it waits for the caller to read,
// other users may compute.
type rowWriter struct {
	c     *Call
	begun time.Time
	sent  int
}

func (w *rowWriter) Write(part []byte) (int, error) {
	if w.sent == 0 {
		w.c.Writer.Header().Set("Content-Type", "application/json")
		w.c.Writer.WriteHeader(http.StatusOK)
	}
	w.c.slot.release()
	w.sent += len(part)
	limit := w.begun.Add(WriteTimeout + time.Duration(w.sent/slowestRate)*time.Second)
	http.NewResponseController(w.c.Writer).SetWriteDeadline(limit)
	return w.c.Writer.Write(part)
}
