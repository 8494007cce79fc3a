// Small programs of Go's standard library, whose calls the tracer must record exactly (cases.toml). The first argument
// names the program; each works in the folder of the process and writes sectors of one letter.
package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

const sector = 512

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func need[T any](value T, err error) T {
	must(err)
	return value
}

func sectors(letters string) []byte {
	var out []byte
	for _, letter := range []byte(letters) {
		out = append(out, bytes.Repeat([]byte{letter}, sector)...)
	}
	return out
}

func put(file *os.File, letters string) { need(file.Write(sectors(letters))) }

func save() {
	file := need(os.OpenFile("t", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644))
	put(file, "X")
	must(file.Sync())
	must(file.Close())
	must(os.Rename("t", "a"))
	must(need(os.Open(".")).Sync())
}

func whole() {
	must(os.WriteFile("a", sectors("X"), 0o644))
	must(os.WriteFile("a", sectors("YZ"), 0o644))
}

func appends() {
	file := need(os.OpenFile("a", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644))
	other := need(os.OpenFile("a", os.O_RDWR|os.O_SYNC, 0o644))
	put(file, "A")
	need(other.WriteAt(sectors("C"), 2*sector))
	put(file, "D")
	need(other.Seek(sector, io.SeekStart))
	put(other, "B")
	must(file.Truncate(3 * sector))
}

// By copy_file_range between files, and by splice from a socket.
func copies() {
	must(os.WriteFile("a", sectors("XYZ"), 0o644))
	from, to := need(os.Open("a")), need(os.Create("b"))
	need(io.Copy(to, io.LimitReader(from, sector)))
	need(io.Copy(to, from))
	listener := need(net.Listen("tcp", "127.0.0.1:0"))
	client := need(net.Dial("tcp", listener.Addr().String()))
	need(client.Write(sectors("P")))
	must(client.Close())
	need(io.Copy(to, need(listener.Accept())))
}

// Goroutines on threads of their own write in turn.
func threads() {
	file := need(os.Create("a"))
	turn := make(chan bool)
	for _, letter := range []string{"A", "B", "C", "D"} {
		go func() {
			runtime.LockOSThread()
			put(file, letter)
			must(file.Sync())
			turn <- true
		}()
		<-turn
	}
}

// A child writes to a file that it inherits; the output of another one comes by a pipe that epoll watches.
func child() {
	file := need(os.Create("a"))
	writer := exec.Command("sh", "-c", "printf X")
	writer.Stdout = file
	must(writer.Run())
	need(file.Write(need(exec.Command("sh", "-c", "printf YZ; : > b").Output())))
}

func mapping() {
	file := need(os.Create("a"))
	must(file.Truncate(2 * sector))
	at := need(syscall.Mmap(int(file.Fd()), 0, 2*sector, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED))
	copy(at, sectors("X"))
	address := uintptr(unsafe.Pointer(&at[0]))
	if _, _, err := syscall.Syscall(syscall.SYS_MSYNC, address, uintptr(len(at)), syscall.MS_SYNC); err != 0 {
		panic(err)
	}
	copy(at[sector:], sectors("Y"))
	must(syscall.Munmap(at))
}

func folders() {
	must(os.MkdirAll("d/e", 0o755))
	must(os.WriteFile("d/e/x", nil, 0o644))
	must(os.Link("d/e/x", "h"))
	must(os.Symlink("d", "l"))
	must(os.WriteFile("l/y", nil, 0o644))
	must(os.Remove("l/y"))
	must(os.RemoveAll("d"))
}

// Goroutines on several threads save files of their own at the same time.
func crowd() {
	var all sync.WaitGroup
	for _, letter := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		letter := letter
		all.Add(1)
		go func() {
			defer all.Done()
			file := need(os.Create("t" + letter))
			put(file, letter)
			must(file.Sync())
			must(os.Rename("t"+letter, letter))
		}()
	}
	all.Wait()
}

func main() {
	programs := map[string]func(){
		"save": save, "whole": whole, "appends": appends, "copies": copies,
		"threads": threads, "child": child, "mapping": mapping, "folders": folders, "crowd": crowd,
	}
	programs[os.Args[1]]()
}
