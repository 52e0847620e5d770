package display

// notificationWidth bounds the text of a notification.
const notificationWidth = 200

// Bell rings the bell of a terminal.
const Bell = "\a"

// Notification returns sequences that show a text on the desktop, as OSC 9 and as OSC 777. A terminal
// ignores those that it does not know. Anybody may have written the text, so it cannot end its
// sequence.
func Notification(text string) string {
	text = Cut(Text(text), notificationWidth)
	return "\x1b]9;" + text + "\x1b\\\x1b]777;notify;cronring;" + text + "\x1b\\"
}
