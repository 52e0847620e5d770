package api

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
)

// boardType is the content type of the board: values of type boardItem in the encoding of package
// encoding/gob, which ignores fields that only one side knows.
const boardType = "application/vnd.cronring.board+gob"

// boardItem is an update or, as the last of a stream, an error.
type boardItem struct {
	Update *BoardUpdate
	Error  *Error
}

// BoardEncoder writes a board.
type BoardEncoder struct{ gob *gob.Encoder }

// NewBoardEncoder returns an encoder, and the content type of what it writes.
func NewBoardEncoder(to io.Writer) (e BoardEncoder, contentType string) {
	return BoardEncoder{gob.NewEncoder(to)}, boardType
}

// Encode writes an update.
func (e BoardEncoder) Encode(u *BoardUpdate) error { return e.gob.Encode(boardItem{Update: u}) }

// EncodeError ends a board with what went wrong.
func (e BoardEncoder) EncodeError(err *Error) error { return e.gob.Encode(boardItem{Error: err}) }

// boardDecoder reads a board.
type boardDecoder struct {
	gob   *gob.Decoder
	texts map[string]string // of the rows before, so that rows with the same texts share their memory
}

// mostTexts limits the texts that a boardDecoder keeps.
const mostTexts = 1 << 16

func newBoardDecoder(from io.Reader, contentType string) (boardDecoder, error) {
	if contentType != boardType {
		return boardDecoder{}, fmt.Errorf("read board: the daemon has another version: it sends %q, not %q", contentType, boardType)
	}
	return boardDecoder{gob.NewDecoder(from), map[string]string{}}, nil
}

// next is the next update; io.EOF is the end of the stream.
func (d boardDecoder) next() (BoardUpdate, error) {
	var item boardItem
	switch err := d.gob.Decode(&item); {
	case err == io.EOF:
		return BoardUpdate{}, err
	case err != nil:
		return BoardUpdate{}, fmt.Errorf("read board: %w", err)
	case item.Error != nil:
		return BoardUpdate{}, item.Error
	case item.Update == nil:
		return BoardUpdate{}, errors.New("read board: an item is empty")
	}
	for i := range item.Update.Rows {
		d.share(&item.Update.Rows[i])
	}
	return *item.Update, nil
}

// share replaces texts of a row by equal ones of earlier rows.
func (d boardDecoder) share(r *Row) {
	if len(d.texts) > mostTexts {
		clear(d.texts)
	}
	for _, text := range r.sharedTexts() {
		known, ok := d.texts[*text]
		if !ok {
			known = *text
			d.texts[known] = known
		}
		*text = known
	}
}
